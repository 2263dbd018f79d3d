/**
 * A requirement on every implementation of a port, as data: `run` rejects if it is broken, and needs no test runner.
 */
export interface Law<Harness, Need extends string = never> {
  readonly name: string
  /** Capabilities that an implementation may lack, with a reason; the law then does not apply. */
  readonly needs?: Need | readonly Need[]
  run(harness: Harness): Promise<void>
}

/** The part of a test runner that a suite uses: Jest, Vitest, Mocha or `node:test`. */
export interface Runner {
  readonly describe: (name: string, define: () => void) => unknown
  readonly it: It
}

type It = ((name: string, run: () => Promise<void>, timeoutMs?: number) => unknown) & {
  readonly skip: (name: string, run: () => Promise<void>) => unknown
}

export interface Suite<Harness, Need extends string> {
  readonly laws: readonly Law<Harness, Need>[]
  /** Runs one law on a harness of its own. */
  readonly keep: (law: Law<Harness, Need>) => Promise<void>
  readonly lacks?: { readonly [N in Need]?: string }
  /**
   * Timeout of one law, for runners that take it as the third argument.
   * @defaultValue the runner's own
   */
  readonly timeoutMs?: number
}

/** The capabilities without which the law does not apply. */
export function needsOf<Need extends string>({
  needs = [],
}: {
  readonly needs?: Need | readonly Need[]
}): readonly Need[] {
  return typeof needs === 'string' ? [needs] : needs
}

/** Defines one test for each law. Laws that do not apply are skipped, with the reason. */
export function describeLaws<Harness, Need extends string>(
  name: string,
  { laws, keep, lacks = {}, timeoutMs }: Suite<Harness, Need>,
  { describe, it }: Runner,
): void {
  describe(name, () => {
    for (const law of laws) {
      const reason = needsOf(law)
        .map((need) => lacks[need])
        .find((why) => why !== undefined)
      if (reason !== undefined) it.skip(`${law.name} (not here: ${reason})`, async () => {})
      else if (timeoutMs === undefined) it(law.name, () => keep(law))
      else it(law.name, () => keep(law), timeoutMs)
    }
  })
}
