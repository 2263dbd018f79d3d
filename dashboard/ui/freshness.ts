// Whether what the page shows is what is there now, and since when it may not be. Pure.

import type { CountsAnswer, LiveAnswer, SessionInfo } from '../api.ts'
import { clockTime } from '../format.ts'
import { titleIn } from './where.ts'
import type { Tone } from './words.ts'

export interface Freshness {
  readonly tone: Tone
  readonly text: string
  /** Who does not answer. */
  readonly about: string | undefined
}

/** The part of a `Resource` that tells its age. */
interface Asked<T> {
  readonly data: T | undefined
  readonly at: number | undefined
  readonly failure: { readonly message: string } | undefined
  readonly waitingSince: () => number | undefined
}

export interface Known {
  readonly session: Pick<SessionInfo, 'hasLive' | 'consumers'>
  readonly live: Asked<LiveAnswer>
  readonly counts: Asked<CountsAnswer>
  /** By the clock of the server, as all times here. */
  readonly now: number
  readonly clockOffset: number
}

/** An answer may take so long. */
const SOON_MS = 3_000

export function freshnessOf({ session, live, counts, now, clockOffset }: Known): Freshness {
  const asked = session.hasLive ? [live, counts] : [counts]
  const failed = asked.filter(({ failure }) => failure !== undefined)
  if (failed.length > 0) {
    const about = failed.map(({ failure }) => failure?.message).join(' ')
    return silent(failed.map(({ at }) => at).map(onServer), about)
  }
  const stores = (counts.data?.consumers ?? []).filter(({ error }) => error !== undefined)
  if (stores.length > 0) {
    const names = stores.map(({ consumer }) => titleIn(session, consumer)).join(', ')
    return silent(
      stores.map(({ at }) => at),
      `The store of ${names} does not answer.`,
    )
  }
  const instances = session.hasLive ? (live.data?.instances ?? []) : []
  if (instances.length > 0 && instances.every(({ state }) => state !== 'ok')) {
    return silent(
      instances.map(({ snapshot }) => snapshot?.at),
      'No process of a consumer answers.',
    )
  }
  const late = asked.filter(({ waitingSince }) => now - clockOffset - (waitingSince() ?? Infinity) > SOON_MS)
  if (late.length > 0) return waiting(late.map(({ at }) => at).map(onServer))
  if (asked.some(({ data }) => data === undefined)) return { tone: 'none', text: 'loading', about: undefined }
  return { tone: 'good', text: session.hasLive ? 'live' : 'up to date', about: undefined }

  function onServer(at: number | undefined): number | undefined {
    return at === undefined ? undefined : at + clockOffset
  }
}

function silent(times: readonly (number | undefined)[], about: string): Freshness {
  const since = earliest(times)
  return { tone: 'alarm', text: since === undefined ? 'no answer yet' : `no answer since ${clockTime(since)}`, about }
}

function waiting(times: readonly (number | undefined)[]): Freshness {
  const since = earliest(times)
  return {
    tone: 'watch',
    text: since === undefined ? 'no answer yet' : `last answer ${clockTime(since)}`,
    about: 'This page waits for an answer.',
  }
}

/** `undefined`: of one of them there is none. */
function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((at) => at !== undefined)
  return known.length < times.length ? undefined : Math.min(...known)
}
