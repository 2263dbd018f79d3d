import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { program } from '../../jvm/program.ts'
import { serverOf, type Job, type Measurement } from '../../suite.ts'
import { ID_HEADER, Tally } from '../../tally.ts'
import { allCommitted } from '../clients/kafka-client.ts'

/** Output of ParallelConsumer.java. */
interface Printed extends Pick<Measurement, 'messages' | 'tookMs' | 'cpuMs'> {
  /** How often the handler ran, by ID. */
  readonly handled: readonly number[]
}

/** Errors alone, on stderr. */
const LOG = '-Dorg.slf4j.simpleLogger.defaultLogLevel=error'

/**
 * Confluent's Parallel Consumer in a JVM of its own, in key order, without any deduplication. Time and CPU are those of the JVM,
 * which starts cold; a handler sleeps for `handlerMs` on one of the threads.
 */
export function parallelConsumer(handlerMs: number, threads: number): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const { java, classpath } = await program()
    const what = [serverOf(job, 'kafka'), job.place, job.name, handlerMs, job.messages, threads, ID_HEADER]
    const args = [LOG, '-cp', classpath, 'ParallelConsumer', ...what.map(String)]
    // Its stdin stays open for as long as this process lives: it ends with it.
    const { stdout } = await promisify(execFile)(java, args, { maxBuffer: 64 << 20 })
    const { messages, tookMs, cpuMs, handled } = JSON.parse(stdout) as Printed
    await allCommitted(job)
    const tally = new Tally(job, 'each-delivery')
    for (const [id, times] of handled.entries()) for (let time = 0; time < times; time++) tally.started(`${id}`)
    tally.ended(messages)
    return { ...tally.measurement(), tookMs, cpuMs }
  }
}
