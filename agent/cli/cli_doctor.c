/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_doctor - "stepback doctor": check that everything needed is installed.
 *
 * Each failed check prints its remedy.
 */
#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/install_paths.h"
#include "agent/cli/cli.h"
#include "agent/cli/cli_boot.h"
#include "agent/cli/cli_fit.h"
#include "agent/cli/cli_image.h"
#include "agent/cli/cli_machine_config.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_output.h"
#include "agent/cli/cli_place.h"
#include "agent/local/local_cgroup.h"
#include "agent/local/local_bus.h"
#include "agent/local/local_check.h"
#include "agent/local/local_ids.h"
#include "agent/machine/accel.h"
#include "agent/machine/backend_kind.h"
#include "agent/machine/guest_image.h"
#include "agent/vm/vm_command.h"
#include "common/host_program.h"
#include "common/log.h"

enum verdict { GOOD, SLOW, MISSING };

static const char *const verdict_names[] = {
    [GOOD] = "ok", [SLOW] = "note", [MISSING] = "MISSING"
};

static const enum cli_paint verdict_paints[] = {
    [GOOD] = PAINT_GOOD, [SLOW] = PAINT_ID, [MISSING] = PAINT_BAD
};

/* How the checks are printed. */
struct report {
    struct cli_output output;
    json_t *checks;             /* --json: an array of objects; or NULL */
    const enum isolation *kind; /* only what this one can use; NULL: all */
    bool needed; /* what is being checked: its lack is no mere note */
};

static void add_check(const struct report *report, enum verdict verdict,
                      const char *what, const char *found, const char *remedy)
{
    g_autofree char *name = g_ascii_strdown(verdict_names[verdict], -1);
    g_autofree char *text = g_utf8_make_valid(found, -1);
    json_t *check = json_pack("{s:s, s:s, s:s}", "name", what, "status", name,
                              "found", text);

    if (verdict != GOOD && remedy)
        json_object_set_new(check, "remedy", json_string(remedy));
    json_array_append_new(report->checks, check);
}

/* found (taken) describes what was found, or the problem. */
static enum verdict print_check(const struct report *report,
                                enum verdict verdict, const char *what,
                                char *found, const char *remedy)
{
    if (verdict == SLOW && report->needed)
        verdict = MISSING;

    g_autofree char *text = found;
    g_autofree char *cell = cli_fit_pad(verdict_names[verdict], 8);
    g_autofree char *shown = cli_output_paint(&report->output,
                                              verdict_paints[verdict], cell);

    if (report->checks) {
        add_check(report, verdict, what, text, remedy);
        return verdict;
    }
    printf("%s %-12s %s\n", shown, what, text);
    if (verdict != GOOD && remedy)
        printf("%-8s %-12s -> %s\n", "", "", remedy);
    return verdict;
}

static enum verdict check_qemu(const struct report *report)
{
    g_autoptr(GError) error = NULL;
    char *qemu = vm_command_find_qemu(&error);

    if (qemu)
        return print_check(report, GOOD, "QEMU", qemu, NULL);
    if (g_getenv("STEPBACK_QEMU"))
        return print_check(
            report, MISSING, "QEMU", g_strdup(error->message),
            "set it to the path of QEMU, or unset it to use " VM_QEMU);
    return print_check(report, MISSING, "QEMU",
                       g_strdup(VM_QEMU " is not installed"),
                       "apt-get install " VM_QEMU_PACKAGE);
}

/* verdict: the severity if the program is missing. */
static enum verdict check_program(const struct report *report, const char *what,
                                  const char *name, enum verdict verdict)
{
    char *path = install_paths_find_helper(name);

    return path ? print_check(report, GOOD, what, path, NULL)
                : print_check(report, verdict, what,
                              g_strdup_printf("%s is not installed", name),
                              "make install (or set STEPBACK_LIBEXECDIR to the "
                              "folder that has it)");
}

static enum verdict check_daemon(const struct report *report)
{
    return check_program(report, "daemon",
                         backend_kind_program(BACKEND_VIRTIOFS), MISSING);
}

static enum verdict check_9p_daemon(const struct report *report)
{
    return check_program(report, "9P daemon", backend_kind_program(BACKEND_9P),
                         SLOW);
}

/* Without the network program, machines start only with --no-network. */
static enum verdict check_network(const struct report *report)
{
    return check_program(report, "network", "stepback-net", MISSING);
}

/* Without it, no policy of names. */
static enum verdict check_proxy(const struct report *report)
{
    return check_program(report, "proxy", "stepback-proxy", SLOW);
}

static enum verdict check_image(const struct report *report)
{
    static const char remedy[] = CLI_PROGRAM " image build";
    g_autoptr(GError) error = NULL;
    struct guest_image *image = guest_image_find(GUEST_IMAGE_DEFAULT, NULL,
                                                 NULL, NULL, &error);
    enum verdict verdict;

    /* Most problems of an image are described by the error itself. */
    if (!image)
        return print_check(report, MISSING, "guest image",
                           g_strdup(error->message),
                           strstr(error->message, remedy) ? NULL : remedy);
    verdict = print_check(report, GOOD, "guest image", g_strdup(image->kernel),
                          NULL);
    guest_image_free(image);
    return verdict;
}

/* An image that exists works without them. */
static enum verdict check_image_tools(const struct report *report)
{
    g_autofree char *problem = NULL, *remedy = NULL;

    if (cli_image_can_build(&problem, &remedy))
        return print_check(report, GOOD, "image tools",
                           g_strdup("all programs that builds of images need"),
                           NULL);
    return print_check(report, SLOW, "image tools",
                       g_strdup_printf("only builds of guest images need "
                                       "them: %s",
                                       problem),
                       remedy);
}

static enum verdict check_kvm(const struct report *report)
{
    g_autofree char *why = NULL;

    if (accel_kvm_usable(ACCEL_KVM_PATH, ACCEL_CPUINFO_PATH, &why))
        return print_check(report, GOOD, "KVM", g_strdup(ACCEL_KVM_PATH), NULL);
    return print_check(
        report, SLOW, "KVM",
        g_strdup_printf("%s; guests run with TCG, which is slow", why),
        accel_kvm_remedy(ACCEL_KVM_PATH, ACCEL_CPUINFO_PATH));
}

static enum verdict check_fuse(const struct report *report)
{
    int reason = access("/dev/fuse", R_OK | W_OK) == 0 ? 0 : errno;

    if (reason == 0)
        return print_check(report, GOOD, "FUSE", g_strdup("/dev/fuse"), NULL);
    return print_check(report, SLOW, "FUSE",
                       g_strdup_printf("/dev/fuse: %s; only mounting on the "
                                       "host and local isolation need it",
                                       g_strerror(reason)),
                       local_check_fuse_remedy(reason));
}

/* A program of another package that only one feature needs. */
static enum verdict check_tool(const struct report *report, const char *what,
                               const char *name, const char *needed_by,
                               const char *remedy)
{
    char *path = host_program_find(name);

    if (path)
        return print_check(report, GOOD, what, path, NULL);
    return print_check(
        report, SLOW, what,
        g_strdup_printf("%s is not installed; only %s it", name, needed_by),
        remedy);
}

static enum verdict check_qemu_img(const struct report *report)
{
    return check_tool(report, "qemu-img", "qemu-img",
                      "machines that keep their disk need",
                      "apt-get install qemu-utils");
}

static enum verdict check_bwrap(const struct report *report)
{
    return check_tool(report, LOCAL_BWRAP, LOCAL_BWRAP, "local isolation needs",
                      "apt-get install bubblewrap");
}

/* Machines have it in their image. */
static enum verdict check_shim(const struct report *report)
{
    char *path = install_paths_find_helper("stepback-shim");

    if (path)
        return print_check(report, GOOD, "shim", path, NULL);
    return print_check(report, SLOW, "shim",
                       g_strdup("stepback-shim is not installed; local "
                                "isolation and builds of images need it"),
                       "make install, or install the package stepback-guest");
}

static enum verdict check_bus_proxy(const struct report *report)
{
    return check_tool(report, "bus proxy", LOCAL_BUS_PROXY,
                      "--session-bus needs", "apt-get install xdg-dbus-proxy");
}

static enum verdict check_namespaces(const struct report *report)
{
    g_autofree char *helper = install_paths_find_helper(LOCAL_HELPER);
    g_autoptr(GError) error = NULL;

    if (!helper)
        return check_program(report, "namespaces", LOCAL_HELPER, SLOW);
    if (local_check_namespaces(helper, NULL, &error))
        return print_check(report, GOOD, "namespaces",
                           g_strdup("user namespaces are allowed"), NULL);
    return print_check(
        report, SLOW, "namespaces",
        g_strdup_printf("only local isolation needs them: %s", error->message),
        local_check_namespace_remedy());
}

/* One user is enough for most commands. */
static enum verdict check_ids(const struct report *report)
{
    g_autofree char *helper = install_paths_find_helper(LOCAL_HELPER);
    g_autoptr(GError) error = NULL;
    struct local_ids ids;
    enum verdict verdict;

    local_ids_find(&ids);
    if (ids.missing)
        verdict = print_check(report, SLOW, "users",
                              g_strdup_printf("a local sandbox has one user: "
                                              "%s",
                                              ids.missing),
                              ids.remedy);
    else if (ids.users && helper &&
             !local_check_namespaces(helper, &ids, &error))
        verdict = print_check(
            report, report->kind ? MISSING : SLOW, "users",
            g_strdup_printf("no local sandbox can start: %s", error->message),
            local_ids_failure_remedy());
    else
        verdict = print_check(
            report, GOOD, "users",
            g_strdup_printf("a local sandbox has %" G_GUINT64_FORMAT " users",
                            ids.count),
            NULL);
    local_ids_clear(&ids);
    return verdict;
}

static enum verdict check_limits(const struct report *report)
{
    const char *remedy = NULL;
    char *problem = local_cgroup_problem(&remedy);

    return print_check(report, problem ? SLOW : GOOD, "limits",
                       problem ? problem
                               : g_strdup("memory, processors and processes of "
                                          "local isolation"),
                       remedy);
}

static enum verdict check_diff(const struct report *report)
{
    return check_tool(report, "diff", "diff", "'" CLI_PROGRAM " diff' needs",
                      "apt-get install diffutils");
}

static enum verdict check_pager(const struct report *report)
{
    return check_tool(report, "less", "less", "long lists on a terminal need",
                      "apt-get install less");
}

typedef enum verdict check(const struct report *report);

enum need { NO_USE, CAN_USE, NEEDS };

/* The needs of each kind of isolation. */
static const struct {
    check *check;
    enum need vm, local;
} checks[] = {
    { check_qemu, NEEDS, NO_USE },
    { check_daemon, NEEDS, NEEDS },
    { check_9p_daemon, CAN_USE, NO_USE },
    { check_network, NEEDS, NEEDS },
    { check_proxy, CAN_USE, CAN_USE },
    { check_image, NEEDS, NO_USE },
    { check_image_tools, CAN_USE, NO_USE },
    { check_kvm, CAN_USE, NO_USE },
    { check_fuse, NO_USE, NEEDS },
    { check_bwrap, NO_USE, NEEDS },
    { check_shim, NO_USE, NEEDS },
    { check_namespaces, NO_USE, NEEDS },
    { check_ids, NO_USE, CAN_USE },
    { check_bus_proxy, NO_USE, CAN_USE },
    { check_limits, NO_USE, CAN_USE },
    { check_qemu_img, CAN_USE, NO_USE },
    { check_diff, CAN_USE, CAN_USE },
    { check_pager, CAN_USE, CAN_USE },
};

/* Without a kind virtual machines, the default, must be ready. */
static int check_all(struct report *report)
{
    bool local = report->kind && *report->kind == ISOLATION_LOCAL;
    bool ready = true;

    for (size_t i = 0; i < G_N_ELEMENTS(checks); i++) {
        enum need need = local ? checks[i].local : checks[i].vm;

        if (need == NO_USE && report->kind)
            continue;
        report->needed = need == NEEDS;
        if (checks[i].check(report) == MISSING)
            ready = false;
    }
    if (report->checks) {
        json_t *answer = json_pack("{s:b, s:O}", "ok", ready, "checks",
                                   report->checks);

        cli_place_print_json(answer);
        json_decref(answer);
    }
    return ready ? CLI_OK : CLI_FAILED;
}

static int print_checks(struct report *report, const char *isolation, bool json)
{
    enum isolation kind;
    int exit_code;

    if (isolation && !isolation_parse(isolation, &kind))
        return cli_options_wrong("doctor: --isolation: must be vm or local, "
                                 "not '%s'",
                                 isolation);
    report->kind = isolation ? &kind : NULL;
    report->checks = json ? json_array() : NULL;
    exit_code = check_all(report);
    json_decref(report->checks);
    return exit_code;
}

struct doctor_options {
    struct cli_machine machine;
    struct cli_output_options output;
    gboolean boot, json;
    int rounds;
};

static int parse_and_check(int argc, char **argv,
                           struct doctor_options *options)
{
    const GOptionEntry entries[] = {
        { "boot", 0, 0, G_OPTION_ARG_NONE, &options->boot,
          "boot guests instead, and print how long each part takes", NULL },
        { "rounds", 0, 0, G_OPTION_ARG_INT, &options->rounds,
          "with --boot: boot N guests (default: 3)", "N" },
        { "image", 0, 0, G_OPTION_ARG_STRING, &options->machine.image,
          "with --boot: boot this guest image", "NAME" },
        { "accel", 0, 0, G_OPTION_ARG_STRING, &options->machine.accel,
          "with --boot: auto, kvm or tcg", "ACCEL" },
        { "isolation", 0, 0, G_OPTION_ARG_STRING, &options->machine.isolation,
          "check only what vm or local isolation needs", "KIND" },
        CLI_OUTPUT_COLOR(&options->output),
        { "json", 0, 0, G_OPTION_ARG_NONE, &options->json, "print JSON", NULL },
        { NULL },
    };
    struct report report = { 0 };

    if (!cli_options_parse("- check that everything needed is installed",
                           entries, false, &argc, &argv))
        return CLI_USAGE;
    if (argc > 1)
        return cli_options_wrong(
            "doctor: too many arguments; it takes options only");
    if (!options->boot && (options->rounds != -1 || options->machine.image ||
                           options->machine.accel))
        return cli_options_wrong("doctor: --rounds, --image and --accel need "
                                 "--boot");
    if (options->rounds != -1 &&
        (options->rounds < 1 || options->rounds > CLI_BOOT_MAX_ROUNDS))
        return cli_options_wrong("doctor: --rounds is a number from 1 to %d",
                                 CLI_BOOT_MAX_ROUNDS);
    if (!cli_output_init(&report.output, "doctor", &options->output))
        return CLI_USAGE;
    if (!options->boot)
        return print_checks(&report, options->machine.isolation, options->json);
    options->machine.place.dir = g_strdup(g_get_tmp_dir());
    if (!cli_machine_check(&options->machine, "doctor"))
        return CLI_USAGE;
    log_set_human(CLI_PROGRAM);
    /* Here a guest that powers off is not a problem. */
    log_set_level(LOG_LEVEL_NONE);
    return cli_boot(&options->machine,
                    options->rounds == -1 ? CLI_BOOT_ROUNDS
                                          : (unsigned)options->rounds,
                    options->json);
}

int cli_doctor(int argc, char **argv)
{
    struct doctor_options options = { .rounds = -1 };
    int exit_code = parse_and_check(argc, argv, &options);

    cli_machine_clear(&options.machine);
    g_free(options.output.color);
    return exit_code;
}
