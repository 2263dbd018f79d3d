import { fork } from 'node:child_process'
import { once } from 'node:events'
import { compiled } from '../kit/compiled.ts'

const PROGRAM = compiled(new URL('limited.ts', import.meta.url))

export interface Rate {
  /** Handlers that began, per second, in all processes together. */
  readonly perSecond: number
  /** The most that began within one second. */
  readonly most: number
  /** The part of each process, in messages. */
  readonly parts: readonly number[]
}

/** Runs processes that share a limit, and measures from the second second on. */
export async function rateOf(options: {
  readonly url: string
  readonly name: string
  readonly processes: number
  readonly perSecond: number
  readonly seconds: number
}): Promise<Rate> {
  const { url, name, processes, perSecond, seconds } = options
  const words = [url, name, String(perSecond), String(seconds + 3)]
  const children = Array.from({ length: processes }, () => fork(PROGRAM, words))
  await Promise.all(children.map((child) => once(child, 'message')))
  const answers = children.map(async (child) => {
    const told = once(child, 'message')
    child.send('begin')
    const [began] = (await told) as [readonly number[]]
    return began
  })
  const all = await Promise.all(answers)
  const times = all.flat().toSorted((a, b) => a - b)
  // Windows begin at whole seconds.
  const from = Math.ceil(((times[0] ?? 0) + 1_000) / 1_000) * 1_000
  const inTime = times.filter((at) => at >= from && at < from + seconds * 1_000)
  return {
    perSecond: inTime.length / seconds,
    most: Math.max(...times.map((at, index) => times.findLastIndex((other) => other < at + 1_000) - index + 1)),
    parts: all.map(({ length }) => length),
  }
}
