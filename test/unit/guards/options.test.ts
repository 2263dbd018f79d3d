import { expect, it } from '@jest/globals'
import { advanceState, insertOnce, lockRow, updateVersioned } from '../../../adapters/guards/index.ts'

const asked: unknown[] = []
/** Answers nothing: what is refused must not come so far. */
const tx = {
  query: async (...given: unknown[]) => {
    asked.push(given)
    return { rows: [] }
  },
}
const place = { table: 'orders', key: { id: 1 } }
const state = { ...place, column: 'status', to: 'paid', from: ['created'] }
const version = { column: 'version', expected: 1 }
const insertion = { table: 'orders', row: { id: 1 }, conflict: 'id' }

type Guard = (client: typeof tx, options: never) => Promise<unknown>

it.each<readonly [string, Guard, object, string]>([
  ['no key', lockRow, { ...place, key: {} }, 'key: expected at least one column, got none'],
  ['an empty key', lockRow, { ...place, key: { id: '' } }, 'key.id: expected a value that is not empty'],
  ['a key of null', advanceState, { ...state, key: { id: null } }, 'key.id: expected a value that is not empty'],
  ['no table', lockRow, { key: { id: 1 } }, `table: expected 'table' or 'schema.table', got undefined`],
  ['three parts', lockRow, { ...place, table: 'a.b.c' }, 'table: expected'],
  ['a name that Postgres would cut', lockRow, { ...place, table: 'a'.repeat(64) }, 'table: expected'],
  ['an unknown option', lockRow, { ...place, nowait: true }, 'nowait: unknown option'],
  ['a wait without end', lockRow, { ...place, waitMs: Infinity }, 'waitMs: expected a whole number'],
  ['no states', advanceState, { ...state, from: [] }, 'from: expected at least one, in a list, of states, got none'],
  ['a state that leads to itself', advanceState, { ...state, from: ['paid'] }, 'from: expected states other than to'],
  ['states of two types', advanceState, { ...state, from: [1] }, 'from: expected states of the type of to'],
  ['texts in an order', advanceState, { ...state, from: 'lower' }, 'to: expected a number, because from is'],
  ['no state', advanceState, { ...state, to: '' }, 'to: expected a text that is not empty'],
  ['the state in set', advanceState, { ...state, set: { status: 'x' } }, 'set.status: expected a column that no other'],
  [
    'a version with a fraction',
    updateVersioned,
    { ...place, version: { ...version, expected: 1.5 }, set: { a: 1 } },
    'version.expected: expected a whole number',
  ],
  [
    'no next timestamp',
    updateVersioned,
    { ...place, version: { ...version, expected: new Date(0) }, set: { a: 1 } },
    'version.next: expected a version later',
  ],
  [
    'an earlier next',
    updateVersioned,
    { ...place, version: { ...version, next: 1 }, set: { a: 1 } },
    'version.next: expected a version later',
  ],
  ['no version', updateVersioned, { ...place, set: { a: 1 } }, 'version.column: expected the name of a column'],
  ['nothing to write', updateVersioned, { ...place, version, set: {} }, 'set: expected at least one column'],
  [
    'undefined in a row',
    insertOnce,
    { ...insertion, row: { id: 1, a: undefined } },
    'row.a: expected a value that a column can have',
  ],
  [
    'a key that is not in the row',
    insertOnce,
    { ...insertion, conflict: 'code' },
    'conflict: expected a column of row, got code',
  ],
  [
    'a key of null in the row',
    insertOnce,
    { ...insertion, row: { id: null } },
    'row.id: expected a value that is not empty',
  ],
  ['no columns', insertOnce, { ...insertion, conflict: [] }, 'conflict: expected at least one, in a list, got none'],
  ['nothing', insertOnce, undefined as never, 'table: expected'],
])('%s is refused before anything is asked', async (_, guard, options, problem) => {
  asked.length = 0
  await expect(guard(tx, options as never)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining(problem),
  })
  expect(asked).toEqual([])
})

it.each<readonly [string, unknown, string]>([
  ['nothing', undefined, 'an object with query(text, values)'],
  ['a client of mysql2 with callbacks', { query() {}, execute() {}, promise() {} }, 'Pass client.promise()'],
  ['an entity manager', { query() {}, createQueryBuilder() {} }, 'got an object of an ORM'],
  ['what answers rows alone', { query: async () => [] }, 'expected query to answer { rows }'],
])('%s is no client', async (_, client, problem) => {
  await expect(insertOnce(client as typeof tx, insertion)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining(problem),
  })
})
