import type { Command } from 'commander'
import { newProgram } from '../../../cli/program.ts'

export const CLI_PAGE = 'docs/cli.md'

const HEAD = `# Commands

Look up a command of \`npx consume-once\`, its options and exit codes: what \`--help\` prints, in the order of the tool. The page is written by \`npm run options\`. [On call](operations.md) shows which command to use when, and [the config](operations.md#the-config) that they read.`

/** The help of each command that can be typed, below the heading that the tool lists it by. */
export function cliPage(): string {
  const program = newProgram(() => {})
  const headings = [...new Set(program.commands.map((command) => command.helpGroup()))]
  const sections = headings.flatMap((heading) => [
    `## ${heading.replace(/:$/, '')}`,
    ...program.commands
      .filter((command) => command.helpGroup() === heading)
      .flatMap(leavesOf)
      .map(sectionOf),
  ])
  return `${[HEAD, ...sections].join('\n\n')}\n`
}

/** A command, or the commands below it. */
function leavesOf(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf)
}

function sectionOf(command: Command): string {
  const { parent } = command
  const name = parent?.parent === null ? command.name() : `${parent?.name()} ${command.name()}`
  return `### ${name}\n\n\`\`\`\n${helpOf(command)}\n\`\`\``
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({
    writeOut: (part) => (text += part),
    getOutHelpWidth: () => 120,
    getOutHasColors: () => false,
  })
  command.outputHelp()
  return text.trim()
}
