import { reportedVersion } from '../../test/kit/servers/reported-version.ts'
import type { BrokerName, Cell } from './cell.ts'
import { runCell, type CellRun } from './run-cell.ts'
import { withStage, type Stage } from './stage/stage.ts'

export interface MatrixRun {
  readonly runs: readonly CellRun[]
  readonly versions: Readonly<Record<string, string>>
}

/** Runs all cells on one stage, `atOnce` at the same time. */
export async function runCells(
  cells: readonly Cell[],
  atOnce: number,
  onRun: (run: CellRun) => void,
): Promise<MatrixRun> {
  const brokers = new Set(cells.map(({ broker }) => broker))
  return withStage(brokers, async (stage) => {
    const waiting = [...cells]
    const runs: CellRun[] = []
    const work = async (): Promise<void> => {
      for (let cell = waiting.shift(); cell !== undefined; cell = waiting.shift()) {
        const run = await runCell(cell, stage)
        runs.push(run)
        onRun(run)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    return { runs, versions: await versionsOf(stage, brokers) }
  })
}

/** Versions by product. */
async function versionsOf(stage: Stage, brokers: ReadonlySet<BrokerName>): Promise<Readonly<Record<string, string>>> {
  const names = [
    await reportedVersion('postgres', stage.postgres.url),
    await reportedVersion('redis', stage.redis.url),
    ...[...brokers].map((broker) => stage.broker(broker).version),
  ]
  return Object.fromEntries(names.map((name) => name.split(' ', 2) as [string, string]))
}
