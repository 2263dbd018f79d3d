import { InvalidArgumentError } from 'commander'

export function parsePosition(text: string): bigint {
  if (/^\d{1,19}$/.test(text)) return BigInt(text)
  throw new InvalidArgumentError('Expected an offset or a line number, from 0.')
}

export function parseRate(text: string): number {
  const rate = Number(text)
  if (/^\d{1,6}(\.\d{1,3})?$/.test(text) && rate > 0) return rate
  throw new InvalidArgumentError('Expected messages per second, such as 20 or 0.5.')
}

/** For options that may be given several times. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}
