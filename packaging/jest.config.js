import tests from '../test/jest.config.js'

/**
 * What `npm run test:built` runs: the tests that need a server or a process, against the library as it is published,
 * bundled and lowered to the oldest Node. `.built` also has an entry point for each module that a test imports.
 */
export default {
  ...tests,
  testPathIgnorePatterns: ['/test/(?:unit|package|types|counts)/'],
  moduleNameMapper: {
    ...Object.fromEntries(Object.entries(tests.moduleNameMapper).filter(([name]) => !name.includes('consume-once'))),
    '^consume-once$': '<rootDir>/.built/index.js',
    '^consume-once/(.*)$': '<rootDir>/.built/$1.js',
    '^(?:\\.\\./)+((?:src|adapters|testing|dashboard/(?:api|server))/.*)\\.ts$': '<rootDir>/.built/inside/$1.js',
  },
}
