// A consumer in a process of its own, so that it can be killed, frozen, cut off and starved. The laboratory says in a spec what it
// consumes and where its store is, and in a module what its handlers do.

import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { defineConsumer, type Consumer } from '../../../src/index.ts'
import { Signal } from '../../../test/kit/signal.ts'
import { trueMs } from '../true-time.ts'
import type { Worker, WorkerHooks, WorkerModule, WorkerTransaction } from './module.ts'
import { observed, type Observed } from './observed.ts'
import { EXIT_FAILED, LINES, type WorkerLine } from './protocol.ts'
import { starterOn } from './sources.ts'
import type { ConsumerSpec, WorkerSpec } from './spec.ts'
import { storeOf } from './stores.ts'

/** Runs until it is told to stop, or its parent has ended; then it ends the process. */
export async function runWorker<Settings, Report, Payload>(
  load: WorkerModule<Settings, Report, Payload>,
): Promise<void> {
  const spec = JSON.parse(process.argv[2] ?? '') as WorkerSpec<Settings>
  const ordered = hearOrders()
  try {
    const hooks = load({ spec, report: (report) => say({ says: 'report', report }), reportObserved, ordered })
    const starters = await Promise.all(
      spec.sources.map(async (source) => starterOn(source, await consumerOf(spec, hooks), hooks)),
    )
    say({ says: 'loaded' })
    if (spec.isHeld === true) await ordered('begin')
    const consumers = starters.map((start) => start())
    // Stopped while it starts, it need not have joined first.
    const stop = ordered('stop').then(() => 'stop' as const)
    const ready = Promise.all(consumers.map((each) => each.ready()))
    if ((await Promise.race([ready, stop])) !== 'stop') {
      say({ says: 'running' })
      hooks.running?.(consumers)
    }
    await stop
    say({ says: 'stopping' })
    await Promise.all(consumers.map((each) => each.stop({ deadlineMs: spec.stopDeadlineMs })))
    hooks.stopped?.()
    say({ says: 'stopped' })
    process.exit(0)
  } catch (error) {
    console.error(error)
    process.exit(EXIT_FAILED)
  }
}

async function consumerOf<Payload>(spec: WorkerSpec<unknown>, hooks: WorkerHooks<Payload>): Promise<Consumer> {
  if (hooks.consumer === undefined) throw new TypeError('the module of a worker that has a source must have a handler')
  const store = await storeOf(spec.store, spec.process)
  return defineConsumer<Payload, Payload, WorkerTransaction>({
    observe: (event) => reportObserved(observed(event)),
    ...(spec.consumer as Omit<ConsumerSpec, 'onInDoubt'>),
    ...hooks.consumer,
    store: hooks.store?.(store) ?? store,
  })
}

/** An order may come before anybody waits for it. */
function hearOrders(): Worker<never, never>['ordered'] {
  const heard = new Set<string>()
  const signal = new Signal()
  createInterface({ input: process.stdin })
    .on('line', (order) => {
      heard.add(order)
      signal.notify()
    })
    .once('close', () => process.exit(0)) // Nobody is there any more.
  return (order) => signal.until(() => heard.has(order))
}

function reportObserved(what: Observed | undefined): void {
  if (what !== undefined) say({ says: 'observed', ...what })
}

type Untimed<Line> = Line extends unknown ? Omit<Line, 'at'> : never

/** Is in the pipe when it returns. */
function say<Report>(line: Untimed<WorkerLine<Report>>): void {
  writeSync(LINES, `${JSON.stringify({ at: trueMs(), ...line })}\n`)
}
