import type { Page } from 'playwright-core'

/** Widths at which people read: a telephone, three laptops, a desktop. */
export const WIDTHS: readonly number[] = [390, 1366, 1440, 1536, 1920]

// Runs in the page: TypeScript here has no types of a browser.
const FAULTS = `(() => {
  const shown = (selector) =>
    [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility({ visibilityProperty: true }))
      .map((one) => ({ one, box: one.getBoundingClientRect() })).filter(({ box }) => box.width > 0)
  const faults = []
  const width = document.documentElement.clientWidth
  if (document.documentElement.scrollWidth > width) faults.push('scrolls sideways: ' + document.documentElement.scrollWidth)
  const [sidebar] = shown('.VPSidebar')
  const isBeside = sidebar !== undefined && sidebar.box.right > 1
  if (isBeside) {
    for (const { one, box } of shown('.VPSidebar .link, .VPSidebar h2')) {
      if (box.left < 0 || box.right > sidebar.box.right + 0.5) faults.push('cut in the sidebar: ' + one.textContent.trim())
    }
    for (const { box } of shown('.VPDoc .content')) {
      if (box.left < sidebar.box.right - 0.5) faults.push('content under the sidebar: ' + box.left + ' < ' + sidebar.box.right)
    }
  }
  for (const { box } of shown('.VPDoc .content-container')) {
    for (const aside of shown('.VPDoc .aside .VPDocAside')) {
      if (box.right > aside.box.left + 0.5) faults.push('content under the outline: ' + box.right + ' > ' + aside.box.left)
    }
  }
  for (const { one, box } of shown('.VPNavBar a, .VPNavBar button')) {
    if (box.left < 0 || box.right > width + 0.5) faults.push('cut in the navigation: ' + one.textContent.trim())
  }
  return faults
})()`

/** What is cut off, covered or wider than the window on a page, in words. */
export async function layoutFaults(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(FAULTS)
}
