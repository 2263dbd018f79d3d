import { Command } from 'commander'
import { addDashboard } from './dashboard.ts'
import { addDemo } from './demo/command.ts'
import { addDoctor } from './doctor.ts'
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

/** The commands of the tool, without a process around them. `end` gets the exit code of the one that ran. */
export function newProgram(end: End): Command {
  // Before the commands: each takes these settings over when it is added.
  const program = new Command('consume-once')
    .description('Effectively-once handling for Kafka and RabbitMQ consumers.')
    .exitOverride()
    .showHelpAfterError('Run it with --help to see what it takes.')
  for (const add of [
    addDemo,
    addWhy,
    addFind,
    addInspect,
    addAudit,
    addDecisions,
    addPositions,
    addPurge,
    addMark,
    addReplay,
    addReport,
    addRedrive,
    addRelay,
    addMigrate,
    addDoctor,
    addSize,
    addDashboard,
  ]) {
    add(program, end)
  }
  return program
}
