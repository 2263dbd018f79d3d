import type { AnyRule } from '../../../src/foundation/options.ts'
import type { Told } from './public-calls.ts'

const UNITS: Readonly<Record<string, number>> = { day: 86_400_000, days: 86_400_000, MiB: 2 ** 20, KiB: 2 ** 10 }

/** What is wrong with the default that a docstring tells, or fails to tell. */
export function problemOfDefault({ default: usual, isNeeded }: AnyRule, { usual: told }: Told): string | undefined {
  if (told === undefined) {
    return isNeeded !== true && isLiteral(usual)
      ? `the default is ${usual}, the docstring has no @defaultValue`
      : undefined
  }
  if (isNeeded === true) return 'the docstring tells a default of an option that must be given'
  const literal = literalIn(told)
  if (literal === undefined || literal === usual) return undefined
  return `the default is ${String(usual)}, the docstring says ${told}`
}

function isLiteral(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

/** The value with which the text begins, if it begins with one and names no other behind it. */
function literalIn(told: string): unknown {
  const [, quoted] = /^[`'"]([\w-]+)[`'"]$/.exec(told) ?? []
  const text = quoted ?? told
  if (text === 'true' || text === 'false') return text === 'true'
  const [, number, unit] = /^([\d_]+)(?: (\w+))?$/.exec(text) ?? []
  if (number !== undefined)
    return Number(number.replaceAll('_', '')) * (unit === undefined ? 1 : (UNITS[unit] ?? Number.NaN))
  return quoted
}
