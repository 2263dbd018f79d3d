// A config for the tests of replays: the consumer that TEST_REPLAY names.
import { defineConfig, type ConsumeOnceConfig } from '../../src/index.ts'
import { replayed, type ReplaySettings } from '../replay/settings.ts'

const { consumer, subscription, ...opened } = replayed(JSON.parse(process.env['TEST_REPLAY'] ?? '') as ReplaySettings)

const config: ConsumeOnceConfig = defineConfig({ consumers: [{ consumer, subscription }], close: () => opened.close() })
export default config
