// Serves POST /pay under an Idempotency-Key in a process of its own, which kills itself where it is told to.
import { writeSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expressIdempotency, idempotencyOf, type ExpressRequestLike } from '../../adapters/http/index.ts'
import type { WorkerTransaction } from '../kit/worker/module.ts'
import { storeOf } from '../kit/worker/stores.ts'
import { Mortal, type MortalSpec } from './mortal.ts'

type Parsed = IncomingMessage & { rawBody?: Uint8Array }

async function main(): Promise<void> {
  const spec = JSON.parse(process.argv[2] ?? '') as MortalSpec
  const mortal = new Mortal(spec)
  const { onInDoubt } = spec
  const protect = expressIdempotency<ExpressRequestLike, WorkerTransaction>({
    store: mortal.store(await storeOf(spec.store, 'http')),
    caller: () => 'ann',
    leaseMs: 1_500,
    ...(onInDoubt && { onInDoubt }),
  })
  const server = createServer((request: Parsed, response) => {
    const pay = async (): Promise<void> => {
      const claim = idempotencyOf<WorkerTransaction>(request) as { readonly tx?: WorkerTransaction } | undefined
      await mortal.effect(claim?.tx)
      response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ paid: spec.key }))
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      request.rawBody = Buffer.concat(chunks)
      protect(request, response, (error) => {
        if (error === undefined) void pay()
        else response.writeHead(500).end()
      })
    })
  })
  server.listen(0, '127.0.0.1', () => writeSync(1, `${(server.address() as AddressInfo).port}\n`))
}

void main()
