import type { Claim, ClaimRequest, LeaseAnswer, LeaseStore } from 'consume-once/spi'

/** Grants every claim and keeps nothing: what grows beside it is not the store. */
export const forgetfulStore: LeaseStore = {
  strategy: 'lease',
  open: async () => {},
  claim: async ({ items, scope, token, retentionMs }: ClaimRequest) =>
    items.map(({ key, digest }): LeaseAnswer => {
      const claim: Claim = { key, digest, scope, token, fence: 1, attempt: 1, retentionMs }
      return { verdict: 'claimed', fence: 1, attempt: 1, claim }
    }),
  renew: async (claims) => claims.map(() => 'renewed'),
  mark: async (claims) => claims.map(() => 'marked'),
  release: async (claims) => claims.map(() => 'released'),
  setAside: async (claims, as) => claims.map(() => as),
}
