/** A command of a release, with what it is for. */
export interface Step {
  readonly what: string
  readonly command: readonly [string, ...string[]]
  readonly env?: Readonly<Record<string, string>>
}

export interface Release {
  readonly version: string
  /** Where the tarball is put. */
  readonly folder: string
  readonly isDryRun: boolean
  /** A hosted runner signs where the tarball came from. Elsewhere npm refuses to. */
  readonly withProvenance: boolean
}

/** What follows `release:check`. The tarball that was tested is the one that is published. */
export function stepsOf({ version, folder, isDryRun, withProvenance }: Release): readonly Step[] {
  const tarball = `${folder}/consume-once-${version}.tgz`
  return [
    { what: 'types, lint, format, unused code', command: ['npm', 'run', '--silent', 'check'] },
    { what: 'build, and pack from a folder of its own', command: ['npm', 'run', '--silent', 'pack', '--', folder] },
    {
      what: 'publint and attw look at the tarball, and a stranger installs it',
      command: ['npx', 'jest', '--runInBand', 'lab/package/contents', 'lab/package/stranger'],
      env: { CONSUME_ONCE_TARBALL: tarball },
    },
    {
      what: isDryRun ? 'what would be published' : 'publish',
      command: [
        'npm',
        'publish',
        tarball,
        // npm run --silent would hide what it says.
        '--loglevel=notice',
        ...(withProvenance ? ['--provenance'] : []),
        ...(isDryRun ? ['--dry-run'] : []),
      ],
    },
  ]
}
