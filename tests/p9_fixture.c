/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_fixture - see p9_fixture.h.
 */
#include "tests/p9_fixture.h"

#include <fcntl.h>
#include <unistd.h>

void p9_fixture_set_up(struct fixture *f, gconstpointer option)
{
    f->rig = p9_rig_new();
    p9_rig_start(f->rig, option, NULL);
    f->client = p9_client_connect(f->rig->socket, 65536, getuid());
}

void p9_fixture_tear_down(struct fixture *f, gconstpointer option)
{
    p9_client_free(f->client);
    p9_rig_free(f->rig);
}

void p9_host_file(struct fixture *f, const char *name, const char *text)
{
    g_autofree char *path = p9_rig_path(f->rig, name);

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

char *p9_host_read(struct fixture *f, const char *name)
{
    g_autofree char *path = p9_rig_path(f->rig, name);
    char *text = NULL;

    g_file_get_contents(path, &text, NULL, NULL);
    return text;
}

uint32_t p9_fid(struct fixture *f, const char *path)
{
    uint32_t fid;

    OK(p9_walk(f->client, P9_ROOT, path, &fid));
    return fid;
}

uint32_t p9_open_fid(struct fixture *f, const char *path, uint32_t flags)
{
    uint32_t fid = p9_fid(f, path);

    OK(p9_lopen(f->client, fid, flags));
    return fid;
}

uint32_t p9_create_fid(struct fixture *f, const char *name)
{
    uint32_t fid = p9_fid(f, "");

    OK(p9_lcreate(f->client, fid, name, O_RDWR | P9_OPEN_EXCL, 0644));
    return fid;
}
