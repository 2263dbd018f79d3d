import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { ConsumerInfo, CountsAnswer, GuaranteesAnswer, LiveAnswer, OutboxesAnswer, SessionInfo } from '../api.ts'
import type { Resource } from './resource.ts'

/** What all screens share. */
export interface Shared {
  readonly session: SessionInfo
  /** Clock of the server minus clock of this browser, in milliseconds. */
  readonly clockOffset: number
  readonly live: Resource<LiveAnswer>
  readonly counts: Resource<CountsAnswer>
  readonly guarantees: Resource<GuaranteesAnswer>
  readonly outboxes: Resource<OutboxesAnswer>
  readonly theme: 'light' | 'dark'
  /** Shows a person what was done, and tells it to a screen reader. */
  readonly say: (text: string) => void
  /** Tells a screen reader what changed, which the page shows anyway. */
  readonly tell: (text: string) => void
}

export const SharedContext = createContext<Shared | undefined>(undefined)

export function useShared(): Shared {
  const shared = useContext(SharedContext)
  if (shared === undefined) throw new Error('no SharedContext (useShared)')
  return shared
}

export function consumerOf(session: SessionInfo, id: string | null | undefined): ConsumerInfo | undefined {
  return session.consumers.find((one) => one.id === id)
}

const tickers = new Set<(now: number) => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** The time by the clock of the server, new each second. */
export function useNow(): number {
  const { clockOffset } = useShared()
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    tickers.add(setNow)
    timer ??= setInterval(() => {
      const at = Date.now()
      for (const tick of tickers) tick(at)
    }, 1_000)
    return () => {
      tickers.delete(setNow)
      if (tickers.size > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }, [])
  return now + clockOffset
}
