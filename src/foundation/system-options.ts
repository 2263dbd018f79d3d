import { systemClock } from './clock.ts'
import { systemEntropy } from './entropy.ts'
import { having, or, type Defaulted } from './options.ts'

/** The option `clock`, of which a function may need a part. */
export function clockOption<T>(): Defaulted<T> {
  return or(systemClock as T, having<T>('a clock'))
}

/** The option `entropy`. */
export function entropyOption<T>(): Defaulted<T> {
  return or(systemEntropy as T, having<T>('a source of randomness'))
}
