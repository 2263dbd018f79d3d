export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  transform: { '^.+\\.ts$': '@swc/jest' },
  moduleNameMapper: {
    '^consume-once$': '<rootDir>/src/index.ts',
    '^consume-once/(.*)$': '<rootDir>/adapters/$1/index.ts',
  },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // Most of the time is spent waiting for servers and for processes that tests start.
  maxWorkers: 2,
  // The first test that asks for a server may wait until it has started.
  testTimeout: 30_000,
}
