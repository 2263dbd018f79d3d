type Samples = ReadonlyMap<string, number>

/** The rows of the page, which are read from above. */
export type Cause = 'not ready' | 'limit' | 'retries' | 'store' | 'handler' | 'one key' | 'partitions'

/**
 * What the table of the page tells a person who has typed its commands. `undefined`: nothing was measured yet.
 *
 * @param measured - by the commands of the page, in their order
 */
export function causeIn(health: string, measured: readonly Samples[]): Cause | undefined {
  const [slots = NONE, failing = NONE, steps = NONE, lags = NONE] = measured
  if (health.includes('"ready":false')) return 'not ready'
  const all = slots.get('slots')
  if (all === undefined) return undefined
  if ((slots.get('limit_waiting') ?? 0) > 0) return 'limit'
  if ((failing.get('') ?? 0) > 0.1) return 'retries'
  const inStep = (step: string): number => steps.get(step) ?? 0
  if (inStep('handler') === 0) return undefined
  if (inStep('claim') + inStep('mark') > inStep('handler')) return 'store'
  if ((slots.get('claims_active') ?? 0) >= all) return 'handler'
  const [most = 0, second = 0] = [...lags.values()].toSorted((one, other) => other - one)
  if (most === 0) return undefined
  return most > 10 * second ? 'one key' : 'partitions'
}

const NONE: Samples = new Map()

/** The lines of `promtool query instant`, by the value of their label, or by their name without `consume_once_`. */
export function samplesIn(printed: string): Samples {
  const lines = printed.matchAll(/^(?:consume_once_)?(\w*)(?:\{(?:\w+="([^"]*)")?\})? => (\S+) @/gm)
  return new Map([...lines].map(([, name = '', label = '', value]) => [label === '' ? name : label, Number(value)]))
}
