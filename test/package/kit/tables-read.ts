import { jest } from '@jest/globals'
import type * as Options from '../../../src/foundation/options.ts'

/** The tables by which options were read, the newest last. */
export const tablesRead: object[] = []

jest.mock('../../../src/foundation/options.ts', () => {
  const actual = jest.requireActual<typeof Options>('../../../src/foundation/options.ts')
  return {
    ...actual,
    optionsOf: (...given: Parameters<typeof actual.optionsOf>) => {
      tablesRead.push(given[1])
      return actual.optionsOf(...given)
    },
    readOptions: (...given: Parameters<typeof actual.readOptions>) => {
      tablesRead.push(given[0])
      return actual.readOptions(...given)
    },
  }
})
