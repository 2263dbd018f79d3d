// Doctor, settings, positions.

import type { EpochMs } from '../../src/core/units.ts'
import type { Diagnosis } from '../../src/people/doctor.ts'

export interface DoctorAnswer {
  /** When the servers were asked: the answer may be 30 s old. */
  readonly at: EpochMs
  readonly diagnosis: Diagnosis
}

export interface GuaranteesAnswer {
  readonly now: EpochMs
  readonly consumers: readonly {
    readonly consumer: string
    /** `undefined`: it could not be found out. */
    readonly verdict: Diagnosis['verdict'] | undefined
    /** Consequences of what breaks the guarantee, for people. */
    readonly broken: readonly string[]
  }[]
}

export interface SettingsAnswer {
  readonly settings: readonly {
    readonly name: string
    /** For people: `30 s`, `park`, `a function`. Never a secret. */
    readonly value: string
    /** `default`: it has the default value. */
    readonly origin: 'given' | 'default'
    /** What it means, in one sentence. Empty if its name says it. */
    readonly about: string
  }[]
  readonly migrations: readonly {
    readonly where: string
    readonly run: readonly string[]
    readonly pending: readonly string[]
    readonly drift: readonly string[]
    /** It did not answer; why. */
    readonly error: string | undefined
  }[]
}

export interface PositionsAnswer {
  readonly positions: readonly {
    readonly stream: string
    /** The offset at which it goes on, as text. */
    readonly next: string
    /** Why nothing of it is handled, until a person decides. */
    readonly held: string | undefined
    readonly heldSince: EpochMs | undefined
  }[]
}
