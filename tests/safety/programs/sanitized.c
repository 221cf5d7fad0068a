/* Built with a sanitizer, whose own functions stand between the program and the agent's hooks: threads, streams, files, a lock that
   is fought for. */
#include <fcntl.h>

#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void *work(void *unused) {
  char line[64];
  for (int i = 0; i < 20; ++i) {
    FILE *stream = fopen("/etc/passwd", "r");
    MUST(stream != NULL && fgets(line, sizeof(line), stream) == line);
    MUST(getc(stream) != EOF);
    fclose(stream);
    const int fd = open("/etc/passwd", O_RDONLY);
    MUST(pread(fd, line, 8, 0) == 8);
    close(fd);
    char *bytes = malloc(1000);
    pthread_mutex_lock(&mutex);
    total += bytes != NULL;
    usleep(50);
    pthread_mutex_unlock(&mutex);
    free(bytes);
  }
  return unused;
}

int main(void) {
  pthread_t threads[6];
  for (int i = 0; i < 6; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 6; ++i) pthread_join(threads[i], NULL);
  printf("total %ld\n", total);
  return 0;
}
