import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { SealResult } from '../../src/index.ts'

/** AES-256-GCM as a user would write it: seals with the first secret, opens with any. */
export function sealedBy(...secrets: readonly [Buffer, ...Buffer[]]): SealResult {
  return {
    seal: (text, key) => {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', secrets[0], nonce).setAAD(Buffer.from(key))
      const sealed = [cipher.update(text, 'utf8'), cipher.final()]
      return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]).toString('base64url')
    },
    open: (text, key) => {
      const sealed = Buffer.from(text, 'base64url')
      for (const secret of secrets) {
        const decipher = createDecipheriv('aes-256-gcm', secret, sealed.subarray(0, 12)).setAAD(Buffer.from(key))
        decipher.setAuthTag(sealed.subarray(12, 28))
        try {
          return decipher.update(sealed.subarray(28), undefined, 'utf8') + decipher.final('utf8')
        } catch {
          // Sealed with another secret.
        }
      }
      throw new Error('sealed with no secret that is known here')
    },
  }
}
