/** What a call of a declared route takes and gives, computed from its shapes. */
import type { Readable } from 'node:stream'
import type { Route } from '../../route.ts'
import type { In, Out, Shape } from '../../schema.ts'

/** Bytes as they are; sent as `application/octet-stream`. */
export type Bytes = string | Uint8Array | Readable

/** A form with one file; fields come before it. */
export interface Form {
  readonly file: Bytes
  readonly fields?: Readonly<Record<string, string>>
}

/** A query carries text; what is a number or a boolean once it is read may be given as such. */
type Query<I, O> = {
  readonly [K in keyof I]: I[K] | (K extends keyof O ? Extract<O[K], string | number | boolean> : never) | undefined
}

/** Required when the shape requires something. */
type Field<K extends string, T> = {} extends T ? { readonly [F in K]?: T } : { readonly [F in K]: T }

/** Routes that take a stream take bytes or a form instead of what they declare. */
type Body<B> = unknown extends B ? { readonly body?: unknown } : Field<'body', B | Bytes>

export type CallInput<P extends Shape, Q extends Shape, B extends Shape> = Field<'params', In<P>> &
  Field<'query', Query<In<Q>, Out<Q>>> &
  (Body<In<B>> | { readonly form: Form })

/** A call's input as the client handles it. */
export interface AnyInput {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly form?: Form
}

export interface CallOptions {
  /** Aborting gives the call up; it rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Most bytes of a JSON answer, or of one line of a stream. */
  readonly maxBytes?: number
  /** Longest time to a whole JSON answer, or to the head of a stream; a body that is being sent may take longer. */
  readonly timeoutMs?: number
  /** Longest silence within a stream; none unless given. */
  readonly idleMs?: number
  /** Further headers of the request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Input and options of a call; without input where the route needs none. */
export type CallArguments<P extends Shape, Q extends Shape, B extends Shape> =
  {} extends CallInput<P, Q, B>
    ? [input?: CallInput<P, Q, B>, options?: CallOptions]
    : [input: CallInput<P, Q, B>, options?: CallOptions]

/** A route of any shapes. */
export type AnyRoute = Pick<
  Route,
  'id' | 'method' | 'path' | 'accepts' | 'errors' | 'returns' | 'events' | 'upgrade' | 'statuses' | 'extra'
>
