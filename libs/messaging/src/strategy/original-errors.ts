import { type ArgumentsHost, Catch, type RpcExceptionFilter } from '@nestjs/common';
import { type Observable, throwError } from 'rxjs';

/**
 * Nest's own filter replaces what a handler threw by "Internal server error" and prints the original. With this filter the original reaches
 * the strategy, which logs it redacted and commits nothing.
 */
@Catch()
export class OriginalErrors implements RpcExceptionFilter {
  catch(exception: unknown, _host: ArgumentsHost): Observable<never> {
    return throwError(() => exception);
  }
}
