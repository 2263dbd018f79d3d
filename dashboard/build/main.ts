// tsx dashboard/build/main.ts dist/ui

import { buildUi } from './ui.ts'

buildUi(process.argv[2] ?? 'dist/ui').then(
  (names) => console.log(names.join('\n')),
  (error: unknown) => {
    console.error(error)
    process.exitCode = 1
  },
)
