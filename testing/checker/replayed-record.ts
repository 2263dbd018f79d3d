interface Holds {
  readonly until?: number | undefined
  readonly keepUntil?: number | undefined
}

interface Releasing {
  readonly token: string
  readonly refund: boolean
  readonly doubt: boolean
  readonly notBefore?: number | undefined
}

/**
 * The record of one key, replayed from the writes of its store. It does not use `transition()`, so it is an independent
 * check: each command returns why it should not have been written, if so.
 */
export class ReplayedRecord {
  state: 'absent' | 'processing' | 'released' | 'done' | 'given-up' | 'parked' = 'absent'
  /** True time until which the claim holds. `undefined`: until its transaction ends, which no event shows. */
  leaseUntil: number | undefined = undefined
  /** True time until which it is kept. `undefined`: for ever. */
  keepUntil: number | undefined = undefined
  /** Granted claims that count: the store may have counted at most this many. */
  attempts = 0
  /**
   * For a lease: one ended without mark or release, or was released in doubt. Only a mark, a set-aside or a person ends
   * doubt.
   */
  isInDoubt = false
  #owner = ''
  /** True time of the end of its backoff. */
  #notBefore: number | undefined = undefined

  grant(token: string, at: number, { until, keepUntil }: Holds): string | undefined {
    if (this.isExpired(at) && (this.state === 'processing' || this.state === 'released')) this.lose()
    const wrong = this.#whyNotGranted(token, at)
    // Sent again: the same grant.
    if (this.state !== 'processing' || this.#owner !== token) {
      const isContinued = this.state === 'processing' || this.state === 'released'
      this.attempts = isContinued ? this.attempts + 1 : 1
      if (this.state === 'processing' && this.leaseUntil !== undefined) this.isInDoubt = true
      else if (!isContinued) this.isInDoubt = false
    }
    this.#write('processing', token, keepUntil)
    this.leaseUntil = until
    return wrong
  }

  renew(token: string, until: number | undefined): string | undefined {
    const wrong = this.#whyNotOwner(token)
    if (this.state === 'processing') this.leaseUntil = until
    return wrong
  }

  mark(token: string, at: number, keepUntil: number | undefined): string | undefined {
    const isSentAgain = this.state === 'done' && this.#owner === token
    const wrong = isSentAgain ? undefined : this.#whyNotMarked(token, at)
    this.isInDoubt = false
    this.#write('done', token, isSentAgain ? this.keepUntil : keepUntil)
    return wrong
  }

  release({ token, refund, doubt, notBefore }: Releasing): string | undefined {
    const wrong = this.#whyNotOwner(token)
    if (doubt) this.isInDoubt = true
    if (refund && this.state === 'processing') this.attempts--
    this.#write('released', token, this.keepUntil)
    this.#notBefore = notBefore
    return wrong
  }

  setAside(token: string, as: 'given-up' | 'parked', keepUntil: number | undefined): string | undefined {
    if (this.state === as && this.#owner === token) return undefined
    const wrong = this.#whyNotOwner(token)
    this.#write(as, token, keepUntil)
    return wrong
  }

  decide(decision: 'done' | 'rerun' | 'reopen' | 'forget' | 'import', keepUntil: number | undefined): void {
    this.attempts = 0
    this.isInDoubt = false
    const isDone = decision === 'done' || decision === 'import'
    this.#write(isDone ? 'done' : 'released', '', isDone ? keepUntil : undefined)
  }

  lose(): void {
    this.attempts = 0
    this.isInDoubt = false
    this.#write('absent', '', undefined)
  }

  /** Its retention has ended: for the store it is absent. */
  isExpired(at: number): boolean {
    return this.keepUntil !== undefined && this.keepUntil <= at
  }

  #write(state: ReplayedRecord['state'], owner: string, keepUntil: number | undefined): void {
    this.state = state
    this.#owner = owner
    this.keepUntil = keepUntil
    this.leaseUntil = undefined
    this.#notBefore = undefined
  }

  #whyNotGranted(token: string, at: number): string | undefined {
    switch (this.state) {
      case 'absent':
        return undefined
      case 'released':
        return this.#notBefore === undefined || this.#notBefore <= at
          ? undefined
          : 'a claim was granted before the backoff of the attempt before was over'
      case 'processing':
        if (this.#owner === token || this.leaseUntil === undefined || this.leaseUntil <= at) return undefined
        return 'a claim was granted while the lease of another owner held'
      case 'done':
        return this.isExpired(at) ? undefined : 'a claim was granted though the record was done'
      case 'given-up':
        return this.isExpired(at) ? undefined : 'a claim was granted though the record was given up'
      case 'parked':
        return 'a claim was granted though the record was parked'
    }
  }

  /** An effect that happened may be marked on any record without an owner. */
  #whyNotMarked(token: string, at: number): string | undefined {
    if (this.state === 'processing') return this.#whyNotOwner(token)
    if (this.state === 'done' && !this.isExpired(at)) return 'a late owner marked what another had marked'
    return undefined
  }

  #whyNotOwner(token: string): string | undefined {
    switch (this.state) {
      case 'absent':
      case 'released':
        return undefined
      case 'processing':
        return this.#owner === token ? undefined : 'a record was changed that another owner was processing'
      case 'done':
        return 'a record was changed that was done'
      case 'given-up':
      case 'parked':
        return 'a record was changed that was set aside'
    }
  }
}
