import type { Command } from 'commander'
import { KeyCommand } from './command.ts'
import { addCompletion } from './completion.ts'
import { addDashboard } from './dashboard.ts'
import { addDemo } from './demo/command.ts'
import { addDoctor } from './doctor.ts'
import { addInit } from './init/command.ts'
import { addMigrate } from './migrate.ts'
import { addAudit } from './records/audit.ts'
import { addDecisions } from './records/decide.ts'
import { addInspect } from './records/inspect.ts'
import { addPositions } from './records/positions.ts'
import { addMark } from './records/mark.ts'
import { addFind } from './records/find.ts'
import { addWhy } from './records/why.ts'
import { addPurge } from './records/purge.ts'
import { addReplay } from './replay/command.ts'
import { addRelay } from './relay.ts'
import { addReport } from './report.ts'
import type { End } from './session.ts'
import { addSize } from './size/command.ts'
import { addRedrive } from './replay/redrive.ts'

type Add = (program: Command, end: End) => void

/** Commands under the heading that the help shows them by. */
const GROUPS: readonly (readonly [heading: string, adds: readonly Add[]])[] = [
  ['Look, and change nothing:', [addWhy, addFind, addInspect, addAudit, addReport, addDoctor, addDashboard]],
  ['Decide about messages:', [addDecisions, addMark]],
  ['Send them again:', [addReplay, addRedrive]],
  ['Run and maintain:', [addPositions, addRelay, addPurge, addMigrate]],
  ['Before production:', [addInit, addDemo, addSize, addCompletion]],
]

const GUIDES = `
Each command has examples: consume-once <command> --help
Guides: node_modules/consume-once/docs (operations.md for each incident, replay.md, deploy.md)`

/** The commands of the tool, without a process around them. `end` gets the exit code of the one that ran. */
export function newProgram(end: End): Command {
  // Before the commands: each takes these settings over when it is added.
  const program = new KeyCommand('consume-once')
    .usage('<command> [options]')
    .description('Effectively-once handling for Kafka and RabbitMQ consumers.')
    .exitOverride()
    // `-V` is its own: a key behind a command may begin so.
    .enablePositionalOptions()
    .showHelpAfterError('Run it with --help to see what it takes.')
  for (const [group, adds] of GROUPS) {
    program.commandsGroup(group)
    for (const add of adds) add(program, end)
  }
  return program.addHelpText('after', GUIDES)
}
