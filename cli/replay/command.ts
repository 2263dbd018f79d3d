import type { Command } from 'commander'
import { addPlan } from './plan.ts'
import { addReplays } from './replays.ts'
import type { End } from '../session.ts'
import { addRun } from './run.ts'

export function addReplay(program: Command, end: End): void {
  const replay = program
    .command('replay')
    .description('Handles messages again, safely: a plan says what would happen, a run does only that.')
  for (const add of [addPlan, addRun, addReplays]) add(replay, end)
}
