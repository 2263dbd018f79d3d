import type { Guarantee } from './guarantee.ts'

export const SEVERAL_IDENTITIES: Guarantee = {
  strategy: '`lease` or `inbox`, several identities: `id: [...]`',
  claims: [
    {
      says: 'no',
      tests: ['T262', 'T289'],
      models: ['several-keys-ring', 'several-keys-ring-ends', 'several-keys-chain-ends'],
    },
    { says: 'as its strategy, for messages that share one', tests: ['T262', 'T289'] },
    { says: 'as its strategy, for messages that share one', tests: ['T262', 'T266'] },
    { says: 'as its strategy, for messages that share one', tests: ['T262', 'T266'] },
  ],
  breaksWhen: [
    { says: 'as its strategy', tests: ['T262', 'T289'] },
    {
      says: 'two messages that share no identity, until a third that shares one with each is handled',
      tests: ['T266'],
      models: ['several-keys-forgets'],
    },
  ],
}
