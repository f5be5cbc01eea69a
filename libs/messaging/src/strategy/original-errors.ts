import { type ArgumentsHost, Catch, type RpcExceptionFilter } from '@nestjs/common';
import { type Observable, throwError } from 'rxjs';

/**
 * For controllers with @EventPattern handlers: `@UseFilters(OriginalErrors)`. Nest's own filter replaces what a handler threw by "Internal
 * server error" and prints the original; with this one the original reaches the strategy, which logs it redacted and commits nothing.
 */
@Catch()
export class OriginalErrors implements RpcExceptionFilter {
  catch(exception: unknown, _host: ArgumentsHost): Observable<never> {
    return throwError(() => exception);
  }
}
