import { InvalidArgumentError } from 'commander'

export function parsePositive(text: string): number {
  const number = Number(text)
  if (/^\d{1,9}$/.test(text) && number > 0) return number
  throw new InvalidArgumentError('Expected a whole number from 1.')
}
