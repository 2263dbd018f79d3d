// A relay that is killed by its test: its broker is a file, to which it appends what it confirms.
import { appendFileSync } from 'node:fs'
import { Pool } from 'pg'
import { postgresOutbox } from '../../adapters/pg/index.ts'

const [, , connectionString, schema = '', file = ''] = process.argv
const kafka = {
  async publish({ messageId, value }: { readonly messageId: string; readonly value: Buffer }): Promise<void> {
    appendFileSync(file, `${messageId} ${value.toString()}\n`)
    await new Promise((resolve) => setImmediate(resolve))
  },
}
postgresOutbox({ pool: new Pool({ connectionString, max: 4 }), schema, publishers: { kafka }, pollMs: 20 }).start()
process.send?.('started')
