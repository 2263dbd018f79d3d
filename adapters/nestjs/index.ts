import type { DynamicModule, FactoryProvider, ModuleMetadata } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService } from '@nestjs/core'
import { checkFunction, checkList, ConfigError, knownOptions } from '../../src/spi.ts'
import { checkModule, ConsumeOnceConsumers, type ConsumeOnceModuleOptions } from './consumers.ts'

export { HandleOnce, type HandleOnceOptions } from './handle-once.ts'
export { ConsumeOnceConsumers, type ConsumeOnceModuleOptions, type Indicated } from './consumers.ts'

export interface ConsumeOnceAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** Tokens of what `useFactory` gets, such as the Kafka and Redis clients of the application. */
  readonly inject?: FactoryProvider['inject']
  readonly useFactory: (...injected: never[]) => ConsumeOnceModuleOptions | Promise<ConsumeOnceModuleOptions>
}

/** Finds the methods with `@HandleOnce` in all providers of the application, and runs a consumer for each. */
// oxlint-disable-next-line typescript/no-extraneous-class -- Nest names a module by a class.
export class ConsumeOnceModule {
  /** @throws ConfigError `CONFIG_INVALID` */
  static forRoot(options: ConsumeOnceModuleOptions): DynamicModule {
    const checked = checkModule(options, 'forRoot()')
    return ConsumeOnceModule.forRootAsync({ useFactory: () => checked })
  }

  /** @throws ConfigError `CONFIG_INVALID`; for what `useFactory` gives, at the start of the application */
  static forRootAsync(options: ConsumeOnceAsyncOptions): DynamicModule {
    const known = { imports: true, inject: true, useFactory: true }
    const { imports = [], inject = [], useFactory } = knownOptions(options, { of: 'forRootAsync()', known })
    const problems: string[] = []
    void checkList('imports', imports, problems)
    checkList('inject', inject, problems)
    checkFunction('useFactory', useFactory, problems)
    if (problems.length > 0)
      throw new ConfigError(problems.map((problem) => `ConsumeOnceModule.forRootAsync: ${problem}`))
    const consumers: FactoryProvider = {
      provide: ConsumeOnceConsumers,
      inject: [DiscoveryService, ...inject],
      useFactory: async (discovery: DiscoveryService, ...injected: unknown[]) =>
        new ConsumeOnceConsumers(await useFactory(...(injected as never[])), discovery),
    }
    return {
      module: ConsumeOnceModule,
      global: true,
      imports: [DiscoveryModule, ...imports],
      providers: [consumers],
      exports: [ConsumeOnceConsumers],
    }
  }
}
