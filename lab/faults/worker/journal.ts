import { writeSync } from 'node:fs'
import { trueMs } from '../true-time.ts'
import type { WorkerLine } from './settings.ts'

type Untimed<Line> = Line extends unknown ? Omit<Line, 'at'> : never

const PIPE = 3

/** Is in the pipe when it returns. */
export function say(line: Untimed<WorkerLine>): void {
  writeSync(PIPE, `${JSON.stringify({ at: trueMs(), ...line })}\n`)
}
