/** All that a process of the command would have. */
export interface HostedCommand {
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
}

/** After what a command wrote to stdout, and to stderr. The tool escapes such characters. */
export const END = '\u0004'
