/** Exit codes of the command-line tool. */
export const EXIT = {
  ok: 0,
  findings: 1,
  usage: 2,
  refused: 3,
  unreachable: 4,
  interrupted: 130,
  terminated: 143,
} as const

/** How a command was typed is wrong. */
export function misuse(message: string, options?: { readonly cause?: unknown }): CommandError {
  return new CommandError(EXIT.usage, message, options)
}

/** Nothing was done: by a safety rule, a state, or a person. */
export function refusal(message: string, options?: { readonly cause?: unknown }): CommandError {
  return new CommandError(EXIT.refused, message, options)
}

/** Ends a command with an exit code and a text for people: what happened, what was expected, what to do. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(exitCode: number, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.exitCode = exitCode
  }
}
