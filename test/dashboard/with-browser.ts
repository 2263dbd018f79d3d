import { afterEach, describe } from '@jest/globals'
import { beforeAllOpen } from '../kit/opened.ts'
import type { Page } from 'playwright-core'
import type { ServedDashboard } from '../../dashboard/server/index.ts'
import { backends } from '../kit/backends.ts'
import { DashboardBrowser } from '../kit/browser.ts'
import { Rig, type RigOptions } from './rig.ts'
import { open } from './screens.ts'

const NEEDED = ['kafka', 'redis', 'rabbitmq', 'postgres'] as const
const describeAll = NEEDED.every((name) => backends.has(name)) ? describe : describe.skip

/** What a test about pages works with. Each part is there when the tests run. */
export interface OnPages {
  readonly rig: Rig
  readonly browser: DashboardBrowser
  /** A dashboard that may change things. */
  readonly board: ServedDashboard
  /** Opens a screen on it. */
  open(page: Page, path: readonly string[], query?: Readonly<Record<string, string>>): Promise<void>
}

/** Tests with a browser, on live consumers. An error in a page fails the test. */
export function describePages(
  title: string,
  prepare: (rig: Rig) => Promise<void>,
  tests: (on: OnPages) => void,
  options: RigOptions = {},
): void {
  describeAll(title, () => {
    const on = {} as { -readonly [Part in keyof OnPages]: OnPages[Part] }

    beforeAllOpen(async (own) => {
      ;[on.rig, on.browser] = await Promise.all([Rig.open(options).then(own), DashboardBrowser.open().then(own)])
      on.board = await on.rig.serve(on.browser.pages)
      on.open = (page, path, query) => open(page, on.board.url, path, query)
      await prepare(on.rig)
    })

    afterEach(async () => {
      await on.browser.closePages()
      const errors = on.browser.takeErrors()
      if (errors.length > 0) throw new Error(`errors in pages: ${errors.join('; ')}`)
    })

    tests(on)
  })
}
