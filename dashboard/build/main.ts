// tsx dashboard/build/main.ts dist/dashboard/ui

import { buildUi } from './ui.ts'

buildUi(process.argv[2] ?? 'dist/dashboard/ui').then(
  (names) => console.log(names.join('\n')),
  (error: unknown) => {
    console.error(error)
    process.exitCode = 1
  },
)
