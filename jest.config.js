/** Both trees, for `npx jest PATH`; test/jest.config.js and lab/jest.config.js take one each. */
export default {
  testEnvironment: '<rootDir>/test/kit/environment.cjs',
  testMatch: ['<rootDir>/{test,lab,examples/orm/test}/**/*.test.ts'],
  transform: { '^.+\\.ts$': '@swc/jest', '/(oxc-parser|@platformatic)/.+\\.js$': '@swc/jest' },
  // Jest runs CommonJS here, and these packages have only ES modules.
  transformIgnorePatterns: ['/node_modules/(?!oxc-parser/|@platformatic/)'],
  moduleNameMapper: {
    '^consume-once$': '<rootDir>/src/index.ts',
    '^consume-once/memory$': '<rootDir>/src/memory/index.ts',
    '^consume-once/replay$': '<rootDir>/src/replay/index.ts',
    '^consume-once/dashboard$': '<rootDir>/dashboard/server/index.ts',
    '^consume-once/spi$': '<rootDir>/src/spi.ts',
    '^consume-once/testing$': '<rootDir>/testing/index.ts',
    '^consume-once/(.*)$': '<rootDir>/adapters/$1/index.ts',
    // Prisma's client imports the parts of its runtime that are ES modules.
    '^(@prisma/client/runtime/.*)\\.mjs$': '$1.js',
  },
  setupFiles: ['<rootDir>/test/kit/suppressed-error.ts'],
  globalSetup: '<rootDir>/test/kit/global-setup.ts',
  globalTeardown: '<rootDir>/test/kit/global-teardown.ts',
  runner: '<rootDir>/test/kit/groups.cjs',
  testSequencer: '<rootDir>/test/kit/slowest-first.cjs',
  // Most of the time is spent waiting for servers and for processes that tests start, also on two cores.
  maxWorkers: 3,
  // The first test that asks for a server may wait until it has started.
  testTimeout: 30_000,
}
