import type { DynamicModule, FactoryProvider, ModuleMetadata } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService } from '@nestjs/core'
import { func, listOf, needed, optionsOf, or, where, type Table } from '../../src/internal.ts'
import { checkModule, ConsumeOnceConsumers, type ConsumeOnceModuleOptions } from './consumers.ts'

export { HandleOnce, type HandleOnceOptions } from './handle-once.ts'
export { ConsumeOnceConsumers, type ConsumeOnceModuleOptions, type Indicated } from './consumers.ts'

export interface ConsumeOnceAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** Tokens of what `useFactory` gets, such as the Kafka and Redis clients of the application. */
  readonly inject?: FactoryProvider['inject']
  readonly useFactory: (...injected: never[]) => ConsumeOnceModuleOptions | Promise<ConsumeOnceModuleOptions>
}

const FOR_ROOT: Table<ConsumeOnceAsyncOptions> = {
  imports: or([], listOf(where('a module', (given) => given !== undefined))),
  inject: or([], listOf(where('a token', (given) => given !== undefined))),
  useFactory: needed(func()),
}

/** Finds the methods with `@HandleOnce` in all providers of the application, and runs a consumer for each. */
// oxlint-disable-next-line typescript/no-extraneous-class -- Nest names a module by a class.
export class ConsumeOnceModule {
  /** @throws ConfigError `CONFIG_INVALID` */
  static forRoot(options: ConsumeOnceModuleOptions): DynamicModule {
    const checked = checkModule(options, 'ConsumeOnceModule.forRoot')
    return ConsumeOnceModule.forRootAsync({ useFactory: () => checked })
  }

  /** @throws ConfigError `CONFIG_INVALID`; for what `useFactory` gives, at the start of the application */
  static forRootAsync(options: ConsumeOnceAsyncOptions): DynamicModule {
    const { imports, inject, useFactory } = optionsOf('ConsumeOnceModule.forRootAsync', FOR_ROOT, options)
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
