// A starved worker: its handler does nothing, and it reports its figures.

import { readFileSync } from 'node:fs'
import type { Worker, WorkerHooks } from '../kit/worker/module.ts'
import type { Figures } from './starved-consumer.ts'

export default function starved(worker: Worker<undefined, Figures>): WorkerHooks<{ readonly id: string }> {
  const figures = {
    handled: 0,
    handedBack: 0,
    joins: 0,
    refused: 0,
    inFlight: 0,
    rssMb: 0,
    longestTurnMs: 0,
    longTurns: 0,
  }

  /** CPU time of the main thread between two rounds of the event loop, in which everything else waits. */
  const watchTurns = (): void => {
    let before = cpuMs()
    setInterval(() => {
      const now = cpuMs()
      figures.longestTurnMs = Math.max(figures.longestTurnMs, Math.round(now - before))
      if (now - before > 20) figures.longTurns++
      before = now
    }, 1)
  }

  return {
    consumer: {
      id: ({ payload }) => payload.id,
      handle: () => {},
      observe: (event) => {
        if (event.type === 'delivery' && event.outcome === 'handled') figures.handled++
        if (event.type === 'delivery' && event.outcome === 'handed-back') figures.handedBack++
        if (event.type === 'delivery' && event.outcome === 'settle-refused') figures.refused++
        if (event.type === 'source' && event.event === 'group-joined') figures.joins++
      },
    },
    running: (consumers) => {
      watchTurns()
      setInterval(() => {
        const partitions = consumers.flatMap(({ health }) => health?.().partitions ?? [])
        figures.rssMb = Math.max(figures.rssMb, Math.round(process.memoryUsage.rss() / 2 ** 20))
        figures.inFlight = Math.max(figures.inFlight, ...partitions.map(({ inFlight }) => inFlight))
        worker.report(figures)
      }, 100)
    },
  }
}

/** Without the threads of the garbage collector. */
function cpuMs(): number {
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1_000_000
}
