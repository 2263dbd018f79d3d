import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { Failure, get, type Answer, type GetPath, type Query } from './client.ts'

export interface Resource<T> {
  /** The last answer. It stays while later requests fail. */
  readonly data: T | undefined
  /** When `data` came, by the clock of this browser. */
  readonly at: number | undefined
  /** Why the last request failed. */
  readonly failure: Failure | undefined
  /** When the request was sent that has no answer yet, by the clock of this browser. */
  readonly waitingSince: () => number | undefined
  /** Asks again now. */
  readonly refresh: () => void
}

const SLOWEST_MS = 30_000
const FIRST_RETRY_MS = 1_000

/** How long until the next request. */
export function nextIn(
  everyMs: number | undefined,
  failures: number,
  retryAfterMs: number | undefined,
): number | undefined {
  if (failures === 0) return everyMs
  return Math.max(retryAfterMs ?? 0, Math.min(SLOWEST_MS, FIRST_RETRY_MS * 2 ** (failures - 1)))
}

/**
 * Asks for a resource, and again each `everyMs` while the page is seen. What fails is asked again, more and more
 * rarely; an answer that a repetition cannot change (400, 404, ...) is not. `query` undefined: nothing to ask for yet.
 */
export function useResource<P extends GetPath>(
  path: P,
  query: Query<P> | undefined,
  everyMs?: number,
): Resource<Answer<P>> {
  const asked = query === undefined ? undefined : JSON.stringify(query)
  const [answer, setAnswer] = useState<{ readonly asked: string; readonly data: Answer<P>; readonly at: number }>()
  const [failed, setFailed] = useState<{ readonly asked: string; readonly failure: Failure }>()
  const waiting = useRef<number | undefined>(undefined)
  const again = useRef<() => void>(() => undefined)

  useEffect(() => {
    if (asked === undefined) return undefined
    const end = new AbortController()
    let failures = 0
    let timer: ReturnType<typeof setTimeout> | undefined
    let isAsking = false

    const ask = async (): Promise<void> => {
      if (isAsking || end.signal.aborted) return
      clearTimeout(timer)
      isAsking = true
      waiting.current = Date.now()
      let retryAfterMs: number | undefined
      let isFinal = false
      try {
        const data = await get(path, JSON.parse(asked) as Query<P>, end.signal)
        if (end.signal.aborted) return
        failures = 0
        setAnswer({ asked, data, at: Date.now() })
        setFailed(undefined)
      } catch (error) {
        if (end.signal.aborted) return
        const failure = asFailure(error)
        failures++
        retryAfterMs = failure.retryAfterMs
        isFinal = failure.status >= 400 && failure.status < 429
        setFailed({ asked, failure })
      } finally {
        isAsking = false
        if (!end.signal.aborted) waiting.current = undefined
      }
      const wait = isFinal ? everyMs : nextIn(everyMs, failures, retryAfterMs)
      if (wait !== undefined && document.visibilityState === 'visible') timer = setTimeout(() => void ask(), wait)
    }
    const seen = (): void => {
      if (document.visibilityState === 'visible') {
        if (everyMs !== undefined || failures > 0) void ask()
      } else clearTimeout(timer)
    }
    again.current = () => void ask()
    document.addEventListener('visibilitychange', seen)
    void ask()
    return () => {
      end.abort()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', seen)
    }
  }, [path, asked, everyMs])

  const refresh = useCallback(() => again.current(), [])
  const waitingSince = useCallback(() => waiting.current, [])
  const isCurrent = answer !== undefined && answer.asked === asked
  return {
    data: isCurrent ? answer.data : undefined,
    at: isCurrent ? answer.at : undefined,
    failure: failed !== undefined && failed.asked === asked ? failed.failure : undefined,
    waitingSince,
    refresh,
  }
}

export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  return new Failure(0, { code: 'PAGE_ERROR', message: error instanceof Error ? error.message : String(error) })
}
