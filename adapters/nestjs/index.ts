import {
  createParamDecorator,
  Inject,
  Injectable,
  UseInterceptors,
  type CallHandler,
  type DynamicModule,
  type ExecutionContext,
  type FactoryProvider,
  type ModuleMetadata,
  type NestInterceptor,
} from '@nestjs/common'
import { DiscoveryModule, DiscoveryService } from '@nestjs/core'
import { func, listOf, needed, optionsOf, or, where, type Table } from '../../src/internal.ts'
import { checkModule, ConsumeOnceConsumers, type ConsumeOnceModuleOptions } from './consumers.ts'
import { checkOncePerMessage, noteOncePerMessage, type OncePerMessageOptions } from './once-per-message.ts'
import { contextOf, type Peers } from './taken.ts'
import { TakenConsumers } from './taken-consumers.ts'
import { deliveryOf } from './transports.ts'

export type { OncePerMessageOptions } from './once-per-message.ts'
export type { Taking } from './taken.ts'
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
    checkModule(options, 'ConsumeOnceModule.forRoot')
    return ConsumeOnceModule.forRootAsync({ useFactory: () => options })
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

const PEERS: Peers = {
  retriableException: async () => (await import('@nestjs/microservices')).KafkaRetriableException,
  nack: async () => (await import('@golevelup/nestjs-rabbitmq')).Nack,
}

/**
 * Runs a method once for each message that a transport of Nest delivers: with `@EventPattern` or `@MessagePattern` of
 * `@nestjs/microservices` on Kafka or RabbitMQ (`noAck: false`), or with `@RabbitSubscribe` of
 * `@golevelup/nestjs-rabbitmq`. The method is called as ever, behind an interceptor that acks: when the mark is durable,
 * or when the message is a duplicate. Its context is the parameter with `@OnceContext()`.
 *
 * Weaker than `@HandleOnce`, whose consumer this library runs: connection, position and ack stay with the transport.
 *
 * @throws ConfigError `CONFIG_INVALID` for an unknown option
 */
export function OncePerMessage(options: OncePerMessageOptions): MethodDecorator {
  checkOncePerMessage(options)
  class OncePerMessageInterceptor implements NestInterceptor {
    readonly #consumers: ConsumeOnceConsumers

    constructor(consumers: ConsumeOnceConsumers) {
      this.#consumers = consumers
    }

    // Nest merges what an interceptor resolves with: an array of one value is an observable of it.
    async intercept(context: ExecutionContext, next: CallHandler): Promise<never> {
      const taken = TakenConsumers.of(this.#consumers)
      return [await taken.take(options, deliveryOf(context), () => lastOf(next), PEERS)] as never
    }
  }
  Inject(ConsumeOnceConsumers)(OncePerMessageInterceptor, undefined, 0)
  Injectable()(OncePerMessageInterceptor)
  return (prototype, method, descriptor) => {
    noteOncePerMessage(prototype, options)
    UseInterceptors(OncePerMessageInterceptor)(prototype, method, descriptor)
  }
}

/** The context of a method with `@OncePerMessage`: as that of a handler, with `idempotencyKey`, `signal` and `tx`. */
export const OnceContext: () => ParameterDecorator = createParamDecorator(
  (_: unknown, context: ExecutionContext): object | undefined => contextOf(context.getArgs()[1]),
)

function lastOf(next: CallHandler<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let last: unknown
    next.handle().subscribe({ next: (value) => (last = value), error: reject, complete: () => resolve(last) })
  })
}
