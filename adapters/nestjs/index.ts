import type { DynamicModule, FactoryProvider, ModuleMetadata } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService } from '@nestjs/core'
import { ConsumeOnceConsumers, type ConsumeOnceModuleOptions } from './consumers.ts'

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
  static forRoot(options: ConsumeOnceModuleOptions): DynamicModule {
    return ConsumeOnceModule.forRootAsync({ useFactory: () => options })
  }

  static forRootAsync({ imports = [], inject = [], useFactory }: ConsumeOnceAsyncOptions): DynamicModule {
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
