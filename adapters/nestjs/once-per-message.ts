import { asGiven, ELSEWHERE, having, optionsOf, type Table } from '../../src/internal.ts'
import { DEFAULTABLE, NAME, type Defaultable, type HandleOnceOptions } from './handle-once.ts'

/** Options of the consumer beside the defaults of the module. */
export interface OncePerMessageOptions extends Omit<HandleOnceOptions, 'startWith'> {
  /**
   * Given to `take` of the module: for example `{ group: 'sms-server' }` for `eachMessage`, or `{ queue: 'sms' }` for
   * `eachDelivery`.
   * @defaultValue `{}`
   */
  readonly takeWith?: object
}

const ONCE_PER_MESSAGE: Table<OncePerMessageOptions, keyof Defaultable | 'takeWith'> = {
  ...DEFAULTABLE,
  name: NAME,
  takeWith: asGiven(having('an object')),
  [ELSEWHERE]: {
    startWith: 'the transport of Nest consumes: takeWith is given to `take`; a consumer of its own is @HandleOnce',
    handle: 'the method is the handler',
    handleBatch: 'a transport hands over one message at a time',
  },
}

/** Known to every copy of this package. */
const TAKEN: unique symbol = Symbol.for('consume-once.once-per-message')

/** @throws ConfigError `CONFIG_INVALID` for an unknown option */
export function checkOncePerMessage(options: OncePerMessageOptions): void {
  optionsOf('OncePerMessage', ONCE_PER_MESSAGE, options)
}

export function noteOncePerMessage(prototype: object, options: OncePerMessageOptions): void {
  Object.defineProperty(prototype, TAKEN, { configurable: true, value: [...oncePerMessageOf(prototype), options] })
}

/** The options of the decorated methods of a class, also of the classes that it extends. */
export function oncePerMessageOf(instance: unknown): readonly OncePerMessageOptions[] {
  return (instance as { readonly [TAKEN]?: readonly OncePerMessageOptions[] } | null | undefined)?.[TAKEN] ?? []
}
