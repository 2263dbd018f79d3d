import { createHash, webcrypto } from 'node:crypto'
import { createContext, runInContext } from 'node:vm'
import { MessageChannel } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from '@jest/globals'
import { bundleEngine, bundlePage } from '../../../site/proof/build/bundle.ts'
import { BrowserBuffer } from '../../../site/proof/browser/buffer.ts'
import { hash } from '../../../site/proof/browser/crypto.ts'
import type * as Engine from '../../../site/proof/engine/index.ts'
import { CONTENDERS } from '../../../site/proof/engine/contenders.ts'
import { outcomeOf } from '../../../site/proof/engine/outcome.ts'
import { play } from '../../../site/proof/engine/play.ts'

/** Compressed, as a server sends it. */
const MOST_BYTES = 80_000

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

describe('the engine for browsers', () => {
  it('has the digests of node:crypto', () => {
    for (let length = 0; length < 300; length++) {
      const bytes = Uint8Array.from({ length }, (_, index) => index * 7 + length)
      for (const encoding of ['base64url', 'hex'] as const) {
        expect(hash('sha256', bytes, encoding)).toBe(createHash('sha256').update(bytes).digest(encoding))
      }
    }
    expect(hash('sha256', 'Grüße 😀', 'hex')).toBe(createHash('sha256').update('Grüße 😀').digest('hex'))
  })

  it('has the texts and bytes of Buffer', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
    for (const encoding of ['utf8', 'latin1', 'hex', 'base64url'] as const) {
      expect(BrowserBuffer.from(bytes).toString(encoding, 3, 251)).toBe(Buffer.from(bytes).toString(encoding, 3, 251))
    }
    const text = Buffer.from(bytes).toString('base64url')
    expect(BrowserBuffer.from(text, 'base64url').toString('hex')).toBe(Buffer.from(bytes).toString('hex'))
    expect(BrowserBuffer.byteLength('Grüße 😀')).toBe(Buffer.byteLength('Grüße 😀'))
    const [ours, theirs] = [BrowserBuffer.alloc(12), Buffer.alloc(12)]
    expect(ours.write('Grüße', 2)).toBe(theirs.write('Grüße', 2))
    expect(BrowserBuffer.concat([ours, bytes]).toString('hex')).toBe(Buffer.concat([theirs, bytes]).toString('hex'))
    expect(BrowserBuffer.from(bytes.buffer, 4, 8).toString('hex')).toBe(Buffer.from(bytes.buffer, 4, 8).toString('hex'))
  })

  it('and the page around it are less than 240 kB of script', async () => {
    expect((await bundlePage()).length).toBeLessThan(240_000)
  })

  describe('without anything of Node', () => {
    const channels: MessageChannel[] = []
    afterAll(() => {
      for (const { port1, port2 } of channels) {
        port1.close()
        port2.close()
      }
    })

    it('gives the histories that it gives in Node, within its size', async () => {
      const script = await bundleEngine()
      expect(gzipSync(script).length).toBeLessThan(MOST_BYTES)
      class Channel extends MessageChannel {
        constructor() {
          super()
          channels.push(this)
        }
      }
      const globals = { TextEncoder, TextDecoder, AbortController, AbortSignal, DOMException, atob, btoa, performance }
      const context = createContext({
        ...globals,
        crypto: webcrypto,
        MessageChannel: Channel,
        setTimeout,
        clearTimeout,
      })
      const { playSeed } = runInContext(`${script};proof`, context) as typeof Engine
      for (const contender of CONTENDERS) {
        for (let seed = 1; seed <= 5; seed++) {
          const there = await playSeed(seed, contender)
          const here = await play(seed, contender, turn)
          expect(JSON.stringify(there.history.events)).toBe(JSON.stringify(here.history.events))
          expect(outcomeOf(there.history)).toEqual(outcomeOf(here.history))
        }
      }
    })
  })
})
