import type { Versions } from './machine.ts'
import { keeping, type Contender, type Scenario } from './suite.ts'

export interface Available {
  /** With the contenders that can run here. */
  readonly scenario: Scenario
  /** Which cannot, and why. */
  readonly leftOut: readonly string[]
  /** Versions of what contenders need besides packages and servers. */
  readonly versions: Versions
}

/** A missing requirement of one contender does not fail the others. */
export async function available(scenario: Scenario): Promise<Available> {
  const missing = new Set<Contender>()
  const leftOut: string[] = []
  const versions: Record<string, string> = {}
  for (const contender of scenario.contenders) {
    try {
      Object.assign(versions, await contender.prepare?.())
    } catch (error) {
      missing.add(contender)
      leftOut.push(`${contender.name}: ${firstLine(error)}`)
    }
  }
  return { scenario: keeping(scenario, (contender) => !missing.has(contender)), leftOut, versions }
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n', 1)[0] ?? ''
}
