import { expect, it } from '@jest/globals'

async function failing(): Promise<void> {
  await using resource = {
    text: 'the body',
    [Symbol.asyncDispose]: () => Promise.reject(new Error('the disposal')),
  }
  throw new Error(resource.text)
}

it('a test whose body and whose disposal both throw shows both errors', async () => {
  await expect(failing()).rejects.toThrow('Error: the body; then, while it was disposed: Error: the disposal')
})
