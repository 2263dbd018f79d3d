// A schema registry of some lines, on a port of this machine: what its clients ask of one to write and to read.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface LocalRegistry {
  readonly url: string
  /** How often it was asked. */
  readonly asked: number
  /** It answers 503, as behind a proxy that has lost it. */
  isDown: boolean
  close(): void
}

export async function localRegistry(): Promise<LocalRegistry> {
  const schemas: { readonly schema: string; readonly schemaType?: string }[] = []
  const registry = { url: '', asked: 0, isDown: false, close: () => void server.close() }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    registry.asked++
    const tell = (status: number, body: object): void =>
      void response
        .writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json' })
        .end(JSON.stringify(body))
    if (registry.isDown) return tell(503, { error_code: 50301, message: 'no leader' })
    const { method, url = '' } = request
    const [, id] = /^\/schemas\/ids\/(\d+)/.exec(url) ?? []
    if (id !== undefined) {
      const schema = schemas[Number(id) - 1]
      return schema === undefined ? tell(404, { error_code: 40403, message: 'Schema not found' }) : tell(200, schema)
    }
    if (method === 'POST' && /^\/subjects\/[^/]+\/versions$/.test(url)) {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const { schema, schemaType } = JSON.parse(Buffer.concat(chunks).toString()) as (typeof schemas)[number]
      const known = schemas.findIndex((one) => one.schema === schema)
      // Avro is not named, as registries do.
      const made = schemaType === undefined || schemaType === 'AVRO' ? { schema } : { schema, schemaType }
      return tell(200, { id: known === -1 ? schemas.push(made) : known + 1 })
    }
    return method === 'PUT' ? tell(200, {}) : tell(404, { error_code: 40401, message: 'Subject not found' })
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  registry.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return registry
}
